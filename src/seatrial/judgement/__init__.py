"""Judgements that several commands share: outcome, dead ranks, the limit of a pair."""
