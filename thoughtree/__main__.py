"""`python -m thoughtree`."""

from .cli import main

if __name__ == "__main__":
    main()
