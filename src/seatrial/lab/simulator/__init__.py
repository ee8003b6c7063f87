"""A fabric that exists in numbers only: its maps, its faults, and the trial of locating them."""
