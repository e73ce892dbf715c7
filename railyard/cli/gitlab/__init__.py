"""Makes pipelines for GitLab from what a system can run."""
