"""What every room may use: reading and writing files safely, typed options, credentials, digests, processes, interrupts."""
