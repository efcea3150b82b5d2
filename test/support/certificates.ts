import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A certificate and its key, PEM. */
export interface Identity {
  readonly certificate: string;
  readonly key: string;
}

/** A certificate authority for the time of a test. */
export interface Authority extends Identity {
  /** @param names what the certificate is for: DNS names, or `IP:127.0.0.1` */
  issue(commonName: string, names?: readonly string[]): Identity;
}

/** Makes an authority with OpenSSL. Nothing of it stays on disk. */
export function certificateAuthority(commonName: string): Authority {
  return inDirectory((directory) => {
    const own = newKey(directory, commonName, ["-x509", "-addext", "basicConstraints=critical,CA:TRUE"]);
    const issue: Authority["issue"] = (name, names = []) =>
      inDirectory((place) => {
        const [ca, caKey] = [join(place, "ca.pem"), join(place, "ca-key.pem")];
        write(ca, own.certificate);
        write(caKey, own.key);
        const san = names.map((item) => (item.includes(":") ? item : `DNS:${item}`)).join(",");
        const extension = san === "" ? [] : ["-addext", `subjectAltName=${san}`];
        return newKey(place, name, ["-x509", "-CA", ca, "-CAkey", caKey, ...extension]);
      });
    return { ...own, issue };
  });
}

function newKey(directory: string, commonName: string, more: readonly string[]): Identity {
  const [key, certificate] = [join(directory, "key.pem"), join(directory, "cert.pem")];
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"];
  const args = ["req", ...kind, "-subj", `/CN=${commonName}`, ...more, "-keyout", key, "-out", certificate];
  execFileSync("openssl", args, { stdio: ["ignore", "ignore", "pipe"] });
  return { certificate: readFileSync(certificate, "utf8"), key: readFileSync(key, "utf8") };
}

function write(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600 });
}

function inDirectory<T>(use: (directory: string) => T): T {
  const directory = mkdtempSync(join(tmpdir(), "davit-tls-"));
  try {
    return use(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}
