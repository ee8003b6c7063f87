"""`python -m seatrial` is the command `seatrial`."""

from seatrial.cli.entry import main

main()
