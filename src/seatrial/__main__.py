"""`python -m seatrial` is the command `seatrial`."""

from seatrial.frame.entry import main

main()
