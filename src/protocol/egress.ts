/** The hosts that a version's containers can reach, besides their runner. */
import { z } from "zod";

/** Host names only, no IP addresses: the last label begins with a letter. */
const HOST =
  /^(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?(?::[1-9]\d{0,4})?$/;

const egressHost = z
  .string()
  .max(261)
  .regex(HOST, "Use a lower-case host name, such as huggingface.co, *.hf.co or ghcr.io:8443");

const word = z.enum(
  ["none", "public"],
  "Use 'none', 'public' or a list of hosts, such as [\"huggingface.co\"]",
);

export const egress = z.union([word, z.array(egressHost).min(1).max(50)]).meta({
  id: "Egress",
  description:
    "What the version's containers can reach. `public`: the internet. `none`: nothing. A list of hosts: only these, on port 443 or the port after the colon; `*.` matches any subdomain. A list works for programs that use HTTPS_PROXY, such as curl and Python's requests, httpx and huggingface_hub; all other traffic is blocked. Containers can never reach the runner's machine or its private network.",
});
export type Egress = z.infer<typeof egress>;

/** The egress of versions that do not set it. */
export const DEFAULT_EGRESS: Egress = "public";

const HTTPS = 443;

/** @param host lower-case */
export const listsHost = (list: readonly string[], host: string, port: number): boolean =>
  list.some((entry) => {
    const [name = "", named = String(HTTPS)] = entry.split(":");
    if (Number(named) !== port) return false;
    return name.startsWith("*.") ? host.endsWith(name.slice(1)) : host === name;
  });
