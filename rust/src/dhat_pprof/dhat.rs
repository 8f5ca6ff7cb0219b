//! The contents of a file of DHAT.

use crate::json::{object, Error, FromJson, Members, ToJson, Value};

/// A file of DHAT, with dhat-pprof's names. Times are in the unit `tu`. A profile without lifetimes (`bklt` is false), of
/// copies or of the program's own events, has only `tb` and `tbk`; the rest is 0.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct DhatProfile {
    pub dhat_file_version: u32,
    pub mode: String,
    pub verb: String,
    pub bklt: bool,
    pub bkacc: bool,
    pub tu: String,
    pub mtu: String,
    pub tuth: u64,
    pub cmd: String,
    pub pid: u32,
    /// The time of the peak.
    pub tg: u64,
    /// The time of the end.
    pub te: u64,
    pub pps: Vec<ProfilePoint>,
    /// Frames; the first is the root.
    pub ftbl: Vec<String>,
}

/// A call stack with its blocks: in total, lifetimes, at its own maximum, at the peak of the heap, and at the end.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct ProfilePoint {
    pub tb: u64,
    pub tbk: u64,
    pub tl: u64,
    pub mb: u64,
    pub mbk: u64,
    pub gb: u64,
    pub gbk: u64,
    pub eb: u64,
    pub ebk: u64,
    /// Frames, the innermost first: indexes into the frame table.
    pub fs: Vec<usize>,
}

impl FromJson for DhatProfile {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut members = Members::of(value)?;
        let bklt = members.take("bklt")?;
        let with_lifetimes = |missing: &str| match bklt {
            true => Err(Error::new(format!("the member `{missing}` is missing"))),
            false => Ok(0),
        };
        let points: Vec<Value> = members.take("pps")?;
        Ok(DhatProfile {
            dhat_file_version: members.take("dhatFileVersion")?,
            mode: members.take("mode")?,
            verb: members.take("verb")?,
            bklt,
            bkacc: members.take("bkacc")?,
            tu: members.take("tu")?,
            mtu: members.take("Mtu")?,
            tuth: members.take_or("tuth", with_lifetimes("tuth"))?,
            cmd: members.take("cmd")?,
            pid: members.take("pid")?,
            tg: members.take_or("tg", with_lifetimes("tg"))?,
            te: members.take("te")?,
            pps: points.into_iter().map(|point| point_from(point, bklt)).collect::<Result<_, _>>()?,
            ftbl: members.take("ftbl")?,
        })
    }
}

fn point_from(value: Value, has_lifetimes: bool) -> Result<ProfilePoint, Error> {
    let mut members = Members::of(value)?;
    let mut of_lifetimes = |name: &str| match has_lifetimes {
        true => members.take(name),
        false => Ok(0),
    };
    let [tl, mb, mbk, gb, gbk, eb, ebk] =
        ["tl", "mb", "mbk", "gb", "gbk", "eb", "ebk"].map(|name| of_lifetimes(name));
    Ok(ProfilePoint {
        tl: tl?,
        mb: mb?,
        mbk: mbk?,
        gb: gb?,
        gbk: gbk?,
        eb: eb?,
        ebk: ebk?,
        tb: members.take("tb")?,
        tbk: members.take("tbk")?,
        fs: members.take("fs")?,
    })
}

impl ToJson for DhatProfile {
    fn to_json(&self) -> Value {
        let mut members = vec![
            ("dhatFileVersion", self.dhat_file_version.to_json()),
            ("mode", self.mode.to_json()),
            ("verb", self.verb.to_json()),
            ("bklt", self.bklt.to_json()),
            // The counts of accesses are not a part of the points.
            ("bkacc", false.to_json()),
            ("tu", self.tu.to_json()),
            ("Mtu", self.mtu.to_json()),
        ];
        if self.bklt {
            members.extend([("tuth", self.tuth.to_json()), ("tg", self.tg.to_json())]);
        }
        members.extend([
            ("cmd", self.cmd.to_json()),
            ("pid", self.pid.to_json()),
            ("te", self.te.to_json()),
            ("pps", Value::Array(self.pps.iter().map(|point| point.to_value(self.bklt)).collect())),
            ("ftbl", self.ftbl.to_json()),
        ]);
        object(members)
    }
}

impl ProfilePoint {
    fn to_value(&self, has_lifetimes: bool) -> Value {
        let mut members = vec![("tb", self.tb.to_json()), ("tbk", self.tbk.to_json())];
        if has_lifetimes {
            members.extend([
                ("tl", self.tl.to_json()),
                ("mb", self.mb.to_json()),
                ("mbk", self.mbk.to_json()),
                ("gb", self.gb.to_json()),
                ("gbk", self.gbk.to_json()),
                ("eb", self.eb.to_json()),
                ("ebk", self.ebk.to_json()),
            ]);
        }
        members.push(("fs", self.fs.to_json()));
        object(members)
    }
}
