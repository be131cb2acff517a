"""Data sets checked for mistakes: labels that are probably wrong or missing, and duplicates with different labels."""

from sdgs.audit._audit_page import write_audit_page
from sdgs.audit._differing_duplicates import DifferingDuplicates
from sdgs.audit._near_duplicates import find_differing_duplicates
from sdgs.audit._rank_labels import rank_suspicious_labels
from sdgs.audit._suspicious_labels import SuspiciousLabels

__all__ = [
    "DifferingDuplicates",
    "SuspiciousLabels",
    "find_differing_duplicates",
    "rank_suspicious_labels",
    "write_audit_page",
]
