"""What every room may use: files read and written safely, typed options, credentials, digests, processes, interrupts."""
