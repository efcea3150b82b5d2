import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

// Stands for a gateway that is ready and says nothing on a Lease.
const server = createServer((_, response) => response.end("ok"));
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ adminPort: port, msg: "gateway listens" })}\n`);
});
process.once("SIGTERM", () => process.exit(0));
