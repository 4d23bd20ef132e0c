"""How a load of a pipelined loop reaches its use: each module makes the loop's ops, and their schedule, of one way to do it."""
