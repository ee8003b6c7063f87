"""Joins launch, archive and diagnosis: plan, measure, judge, choose the next experiment."""
