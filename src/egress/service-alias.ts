import { Resolver } from "node:dns";
import { readFileSync } from "node:fs";

/**
 * Whether the name of a Service is an alias, as the cluster's DNS makes of `ExternalName` Services (a CNAME; all others have addresses). Errors of the resolver are
 * handed on, except that there is no such record.
 */
export type IsAlias = (host: string, done: (error: NodeJS.ErrnoException | null, isAlias: boolean) => void) => void;

/** What a DNS server says where a name has no CNAME. */
const NO_ALIAS: ReadonlySet<string | undefined> = new Set(["ENODATA", "ENOTFOUND"]);

/**
 * Asks the cluster's DNS. Where the process is in no cluster, which the search list of its resolver tells, no name is an alias.
 *
 * @param options for tests: the domain of the cluster, and servers to ask
 */
export function aliasLookup(
  options: { readonly domain?: string | undefined; readonly servers?: readonly string[] } = {},
): IsAlias {
  const domain = options.domain ?? clusterDomain();
  if (domain === undefined) return (_host, done) => done(null, false);
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  if (options.servers !== undefined) resolver.setServers(options.servers);
  return (host, done) => {
    const name = host.toLowerCase().replace(/\.$/, "");
    const fullName = name.endsWith(".svc") ? `${name}.${domain}` : name;
    if (!fullName.endsWith(`.svc.${domain}`)) return done(null, false);
    resolver.resolveCname(fullName, (error, names) => {
      if (error === null) return done(null, names.length > 0);
      return NO_ALIAS.has(error.code) ? done(null, false) : done(error, false);
    });
  };
}

/** The domain of the cluster that this process runs in: the search list of a Pod has `svc.<domain>`. `undefined` outside. */
function clusterDomain(): string | undefined {
  try {
    const search = /^search[ \t]+(.*)$/m.exec(readFileSync("/etc/resolv.conf", "utf8"))?.[1] ?? "";
    return search
      .split(/[ \t]+/)
      .find((item) => item.startsWith("svc."))
      ?.slice("svc.".length);
  } catch {
    return undefined;
  }
}
