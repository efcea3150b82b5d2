/** What a TLS connection to the API server needs. Buffers or PEM text. */
export interface KubeTls {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  /** Name to expect in the server's certificate, if not the host of its URL. */
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

/** One consistent reading of the credentials. */
export interface KubeCredentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: KubeTls;
}

/** Where the API server is and how to prove who we are. */
export interface KubeAuth {
  /** Base URL without a slash at the end: `https://10.96.0.1:443`. */
  readonly server: string;
  /** Namespace this process belongs to (its pod's, or the kubeconfig context's), if known. */
  readonly namespace?: string | undefined;
  /**
   * Credentials for one call; asked before each, so implementations cache.
   * @throws KubeConfigError if they cannot be read
   */
  credentials(): Promise<KubeCredentials>;
  /** The server refused them (401) or its certificate did not verify: read them anew at the next call. */
  refresh(): void;
  /** Who the API server takes us for, if the credentials tell; for messages only. */
  user?(): string | undefined;
}
