"""Signal actions for programs under test."""
import signal


def reset_signals():
    """Restores the signal actions of an interactive shell.  nohup and background jobs ignore some signals, and
    every program under test would inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTSTP,
                   signal.SIGTTIN, signal.SIGTTOU, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
