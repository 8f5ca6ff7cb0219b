#include "cli/desktop.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <unistd.h>

bool allo_has_desktop(void)
{
	const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");

	return isatty(STDOUT_FILENO) && ((x && x[0]) || (wayland && wayland[0]));
}

bool allo_open_window(char *target)
{
	char program[] = "xdg-open", *arguments[] = { program, target, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	bool ok;
	pid_t child;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return false;
	if (posix_spawnattr_init(&attributes) != 0) {
		posix_spawn_file_actions_destroy(&actions);
		return false;
	}
	ok = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID) == 0;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		ok = ok &&
		     posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0) == 0;
	ok = ok && posix_spawnp(&child, program, &actions, &attributes, arguments, environ) == 0;
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return ok;
}
