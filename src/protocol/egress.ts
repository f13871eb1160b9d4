/** What the containers of a version may reach, besides the runner that they work for. */
import { z } from "zod";

/** Names only: what an address leads to, nobody can tell. The last label begins with a letter. */
const HOST =
  /^(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?(?::[1-9]\d{0,4})?$/;

const egressHost = z
  .string()
  .max(261)
  .regex(HOST, "a host name in small letters, as in huggingface.co, *.hf.co or ghcr.io:8443");

const word = z.enum(
  ["none", "public"],
  "'none', 'public', or a list of hosts, as in [\"huggingface.co\"]",
);

export const egress = z.union([word, z.array(egressHost).min(1).max(50)]).meta({
  id: "Egress",
  description:
    "What its containers reach. `none`: nothing. `public`: the public internet. A list of hosts: these alone, by https (or the port after a colon); `*.` stands for any name below. A list works for programs that go by the variable HTTPS_PROXY, as curl and Python's requests, httpx and huggingface_hub do; for all others it is as `none`. Never the runner's machine or its private network.",
});
export type Egress = z.infer<typeof egress>;

/** Of a version that does not say. */
export const DEFAULT_EGRESS: Egress = "public";
