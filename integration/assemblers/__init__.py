"""Assemblers judged without a card: what ptxas makes of small programs is evaluated and compared with PTX's meaning."""
