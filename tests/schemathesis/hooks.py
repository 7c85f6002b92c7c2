"""Teaches schemathesis to send lists of operations as NDJSON, which it does not know."""

import schemathesis

schemathesis.serializer.alias("application/x-ndjson", "text/plain")
