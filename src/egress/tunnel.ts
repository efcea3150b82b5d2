import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type Socket } from "node:net";
import { buildConnector } from "undici";
import { bareHost, EgressForbiddenError, type EgressGuard } from "./guard.ts";
import { type Connector, socketOptions, type TlsSettings } from "./socket-options.ts";

/** A proxy that does not open a tunnel. Its code is `proxy_refused`, or `proxy_timeout`. */
export class ProxyError extends Error {
  readonly code: "proxy_refused" | "proxy_timeout";

  constructor(code: "proxy_refused" | "proxy_timeout", what: string) {
    super(`the egress proxy ${what}`);
    this.name = "ProxyError";
    this.code = code;
  }
}

export interface TunnelOptions {
  /** `http://host:port` or `https://…`. */
  readonly proxy: string;
  readonly guard: EgressGuard;
  /** The tunnel, and as much again for TLS within it, ms. */
  readonly timeoutMs: number;
  readonly tls?: TlsSettings | undefined;
}

/** Names that lead into the cluster or to the host itself, whoever resolves them; and those without a dot, which a proxy may complete with a domain of its own. */
const INSIDE = /^[^.]*\.?$|(^|\.)(localhost|local|internal|svc)\.?$/i;

/**
 * A connector that goes through a proxy by CONNECT (RFC 9110 §9.3.6), for `http:` targets as well. The proxy's own address is judged as any other, so a private
 * one must be in the guard's `allow`. Of the target only what CONNECT says can be judged: an address as an address; names that are known to lead inside are
 * refused, unless `allow` has them; every other name is resolved by the proxy, which has to refuse what it must not reach.
 */
export function tunnelConnector({ proxy, guard, timeoutMs, tls }: TunnelOptions): Connector {
  const url = new URL(proxy);
  const secure = buildConnector(socketOptions(timeoutMs, tls));
  return (target, callback) => {
    const host = bareHost(target.hostname);
    const port = target.port || (target.protocol === "https:" ? "443" : "80");
    const why = targetRefusal(guard, host) ?? literalRefusal(guard, bareHost(url.hostname));
    if (why !== undefined) return callback(new EgressForbiddenError(host, why), null);
    openTunnel(url, authority(host, port), { guard, timeoutMs }, (error, socket) => {
      if (socket === undefined) return callback(error ?? new ProxyError("proxy_refused", "gave no connection"), null);
      if (target.protocol === "https:") return secure({ ...target, httpSocket: socket }, callback);
      return callback(null, socket);
    });
  };
}

function targetRefusal(guard: EgressGuard, host: string): string | undefined {
  if (isIP(host) !== 0) return guard.refusal(host);
  return INSIDE.test(host) && !guard.allowsHost(host) ? "the name leads inside" : undefined;
}

function literalRefusal(guard: EgressGuard, host: string): string | undefined {
  return isIP(host) === 0 ? undefined : guard.refusal(host);
}

function authority(host: string, port: string): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

function openTunnel(
  proxy: URL,
  path: string,
  { guard, timeoutMs }: Pick<TunnelOptions, "guard" | "timeoutMs">,
  done: (error: Error | undefined, socket: Socket | undefined) => void,
): void {
  const send = proxy.protocol === "https:" ? httpsRequest : httpRequest;
  const connect = send({
    method: "CONNECT",
    host: bareHost(proxy.hostname),
    port: proxy.port || (proxy.protocol === "https:" ? 443 : 80),
    path,
    headers: { host: path },
    agent: false,
    lookup: guard.lookup,
    ...(proxy.protocol === "https:" && { minVersion: "TLSv1.2" as const }),
  });
  const timer = setTimeout(() => connect.destroy(new ProxyError("proxy_timeout", "did not answer")), timeoutMs);
  let ended = false;
  const end = (error: Error | undefined, socket?: Socket): void => {
    if (ended) return;
    ended = true;
    clearTimeout(timer);
    done(error, socket);
  };
  connect.once("connect", ({ statusCode }, socket: Socket, head: Buffer) => {
    // The request's own listener is gone, and undici's is not there yet.
    socket.on("error", () => undefined);
    const opened = statusCode !== undefined && statusCode >= 200 && statusCode < 300 && head.length === 0;
    if (opened) return end(undefined, socket);
    socket.destroy();
    return end(new ProxyError("proxy_refused", `answered ${statusCode}`));
  });
  connect.on("error", (error) => end(error));
  connect.end();
}
