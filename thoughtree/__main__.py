"""`thoughtree`, and `python -m thoughtree`."""

from .early_interrupt import leave_at_interrupt


def main() -> None:
    """The console script."""
    leave_at_interrupt()
    from .cli import main as run  # a second of imports

    run()


if __name__ == "__main__":
    main()
