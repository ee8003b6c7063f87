"""`python -m seatrial` is the command `seatrial`."""

from seatrial.cli.main import main

main()
