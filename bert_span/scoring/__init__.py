"""Official metrics, thresholds and calibration."""
