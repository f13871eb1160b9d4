/** The hosts that a version's containers may reach. */

const HTTPS = 443;

/** @param host lower-case */
export const listsHost = (list: readonly string[], host: string, port: number): boolean =>
  list.some((entry) => {
    const [name = "", named = String(HTTPS)] = entry.split(":");
    if (Number(named) !== port) return false;
    return name.startsWith("*.") ? host.endsWith(name.slice(1)) : host === name;
  });
