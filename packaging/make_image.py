#!/usr/bin/env python3
"""Writes a container image with the standalone allo: a folder in the OCI layout, and the same as a tar file.

usage: make_image.py ALLO FOLDER

The image has one file, /allo, for 'COPY --from=allotrope /allo /usr/local/bin/'.  Equal inputs give equal bytes.
"""
import gzip
import hashlib
import io
import json
import pathlib
import shutil
import sys
import tarfile
import time

import release

MEDIA = "application/vnd.oci.image"


def tar_of(files):
    """A tar archive of files: name, mode and bytes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, mode, data in files:
            entry = tarfile.TarInfo(name)
            entry.mode, entry.size, entry.mtime = mode, len(data), release.epoch()
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def digest_of(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def main():
    allo, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    version = release.version()
    layout = folder / f"allotrope-{version}-image"
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(release.epoch()))
    blobs = {}

    def add(media, data, **more):
        """Stores a blob; its descriptor."""
        blobs[digest_of(data)] = data
        return {"mediaType": media, "digest": digest_of(data), "size": len(data), **more}

    def add_json(media, value, **more):
        return add(media, json.dumps(value, sort_keys=True, separators=(",", ":")).encode(), **more)

    plain = tar_of([("allo", 0o755, allo.read_bytes())])
    platform = {"architecture": release.ARCHITECTURE, "os": "linux"}
    labels = {"org.opencontainers.image.title": "allotrope", "org.opencontainers.image.version": version,
              "org.opencontainers.image.description": release.SUMMARY,
              "org.opencontainers.image.licenses": "MIT OR Apache-2.0"}
    config = add_json(f"{MEDIA}.config.v1+json", {
        **platform, "created": created, "config": {"Entrypoint": ["/allo"], "Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": [digest_of(plain)]},
        "history": [{"created": created, "created_by": "make_image.py"}]})
    layer = add(f"{MEDIA}.layer.v1.tar+gzip", gzip.compress(plain, 9, mtime=0))
    manifest = add_json(f"{MEDIA}.manifest.v1+json", {
        "schemaVersion": 2, "mediaType": f"{MEDIA}.manifest.v1+json", "config": config, "layers": [layer],
        "annotations": labels}, platform=platform, annotations={"org.opencontainers.image.ref.name": version})
    index = {"schemaVersion": 2, "mediaType": f"{MEDIA}.index.v1+json", "manifests": [manifest]}
    files = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}', "index.json": json.dumps(index, sort_keys=True).encode(),
             **{f"blobs/{name.replace(':', '/')}": data for name, data in sorted(blobs.items())}}

    shutil.rmtree(layout, ignore_errors=True)
    for name, data in files.items():
        (layout / name).parent.mkdir(parents=True, exist_ok=True)
        (layout / name).write_bytes(data)
    pathlib.Path(f"{layout}.tar").write_bytes(tar_of((name, 0o644, data) for name, data in files.items()))
    print(f"wrote {layout} and {layout}.tar")


if __name__ == "__main__":
    main()
