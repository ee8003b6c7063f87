"""The doctor's single looks at a launch: each asks one thing and judges the answer; all but `ask` are pure."""
