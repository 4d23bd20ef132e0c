"""``tri verify`` measured: planted faults, false alarms, cost (``python -m integration.verify``)."""
