//! What happened: the events of a history, as the checker reads them and every driver writes them.
