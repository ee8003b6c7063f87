"""A second Linux kernel, which can mount NFS, with a lab in it whose nodes share an archive."""
