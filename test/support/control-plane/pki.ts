import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const DAYS = "7";

/** A key pair as PEM text. */
export interface Pair {
  readonly certificate: string;
  readonly key: string;
}

/** Who a client certificate speaks for: CN and O (Kubernetes: "X509 client certificates"). */
export interface Subject {
  readonly user: string;
  readonly groups?: readonly string[];
}

async function openssl(dir: string, ...args: readonly string[]): Promise<void> {
  try {
    await run("openssl", [...args], { cwd: dir });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw new Error("The cluster tests need the openssl program: install openssl", { cause: error });
  }
}

const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

/** Writes NAME.crt and NAME.key, signed by itself. */
async function selfSigned(dir: string, name: string): Promise<void> {
  const output = ["-keyout", `${name}.key`, "-out", `${name}.crt`];
  await openssl(dir, "req", "-x509", ...NEW_KEY, ...output, "-subj", `/CN=${name}`, "-days", DAYS);
}

interface Leaf {
  readonly name: string;
  readonly ca: string;
  readonly subject: string;
  readonly extension: string;
}

/** Writes NAME.crt and NAME.key in `dir`, signed by the pair CA.crt and CA.key of `caDir`. */
async function signed(dir: string, caDir: string, { name, ca, subject, extension }: Leaf): Promise<void> {
  await openssl(dir, "req", ...NEW_KEY, "-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", subject);
  await writeFile(join(dir, `${name}.ext`), extension);
  const by = ["-CA", join(caDir, `${ca}.crt`), "-CAkey", join(caDir, `${ca}.key`)];
  // A serial of our own: -CAcreateserial would share a file between parallel runs.
  const serial = ["-set_serial", `0x${Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString("hex")}`];
  const output = ["-extfile", `${name}.ext`, "-out", `${name}.crt`];
  await openssl(dir, "x509", "-req", "-in", `${name}.csr`, ...by, ...serial, "-days", DAYS, ...output);
}

/**
 * Writes what the servers need into a folder (names as in controller-runtime's envtest): `serving-ca`, `client-ca`, `sa-signer`,
 * `apiserver`; a `.crt` and `.key` each, ECDSA P-256, valid for a week.
 * @throws Error when openssl is missing
 */
export async function createPki(dir: string): Promise<void> {
  await Promise.all(["serving-ca", "client-ca", "sa-signer"].map((name) => selfSigned(dir, name)));
  const extension = "subjectAltName=DNS:localhost,IP:127.0.0.1";
  await signed(dir, dir, { name: "apiserver", ca: "serving-ca", subject: "/CN=kube-apiserver", extension });
}

/**
 * Issues a client certificate.
 * @param dir the folder of `createPki`
 */
export async function issueClient(dir: string, { user, groups = [] }: Subject): Promise<Pair> {
  const folder = await mkdtemp(join(dir, "client-"));
  try {
    // In a subject of openssl "/" and "+" divide; a backslash escapes them.
    const text = (value: string) => value.replaceAll(/[\\/+]/g, String.raw`\$&`);
    const subject = [...groups.map((group) => `/O=${text(group)}`), `/CN=${text(user)}`].join("");
    await signed(folder, dir, { name: "client", ca: "client-ca", subject, extension: "extendedKeyUsage=clientAuth" });
    const read = (name: string) => readFile(join(folder, name), "utf8");
    return { certificate: await read("client.crt"), key: await read("client.key") };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
