"""What holds for all tests: hypothesis does not judge by the clock on a machine whose cores others may take."""

from hypothesis import HealthCheck, settings

settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")
