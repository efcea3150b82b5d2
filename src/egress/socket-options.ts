import type { buildConnector } from "undici";

/** How connections are opened: the one place where a guard over resolved addresses or a proxy can stand. */
export type Connector = buildConnector.connector;

/** Certificates of connections to one destination, PEM. */
export interface TlsSettings {
  /** Authorities instead of the system's. */
  readonly ca?: string;
  /** Client certificate with its chain, and its key; both or neither. */
  readonly certificate?: string;
  readonly key?: string;
  /** Name that is asked for (SNI) and that the certificate must have. Default: the URL's host. */
  readonly serverName?: string;
}

/**
 * What every connection of ours has, for `buildConnector`. The certificate is always checked, and TLS is 1.2 at least, whatever Node was started with.
 *
 * @param timeoutMs TCP and TLS handshake together
 */
export function socketOptions(timeoutMs: number, tls: TlsSettings = {}): buildConnector.BuildOptions {
  const { ca, certificate, key, serverName } = tls;
  return {
    timeout: timeoutMs,
    // HTTP/1.1 only: an HTTP/2 stream has no moment at which "nothing of it is on the wire" could still be said.
    allowH2: false,
    minVersion: "TLSv1.2",
    rejectUnauthorized: true,
    ...(ca !== undefined && { ca }),
    ...(certificate !== undefined && { cert: certificate }),
    ...(key !== undefined && { key }),
    ...(serverName !== undefined && { servername: serverName }),
  };
}
