"""A webhook receiver, in a process of its own because QGIS blocks Python while it saves. Prints its port, and
appends each delivery as a line of JSON to the file that is its only argument."""

import http.server
import json
import sys


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        headers = {name.lower(): value for name, value in self.headers.items()}
        with open(sys.argv[1], "a", encoding="utf-8") as log:
            log.write(json.dumps({"headers": headers, "body": body}) + "\n")
        self.send_response(204)
        self.end_headers()

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
print(server.server_port, flush=True)
server.serve_forever()
