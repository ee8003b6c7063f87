"""The judgement on many nodes that ran one benchmark, and on their parts."""
