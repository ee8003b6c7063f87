"""Kills processes of real checks at random moments, and examines that nothing delivered is lost: `make campaign`."""
