import { EgressGuard } from "../../src/egress/guard.ts";
import { HttpSender, type HttpSenderOptions } from "../../src/egress/http-sender.ts";

/** A sender that may reach this machine, where the destinations of tests are. */
export function loopbackSender(options: HttpSenderOptions = {}): HttpSender {
  return new HttpSender({ guard: new EgressGuard({ allow: ["127.0.0.0/8", "::1"] }), ...options });
}
