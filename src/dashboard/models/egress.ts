/** What a version's containers reach, in words for those whose inputs they get. */
import { DEFAULT_EGRESS } from "../../protocol/egress.ts";
import type { Configuration } from "../../protocol/model.ts";

export const EGRESSES = [
  { value: "public", label: "The public internet", hint: "And never a private network." },
  { value: "none", label: "Nothing", hint: "What goes in comes out as output alone." },
  {
    value: "hosts",
    label: "These hosts alone",
    hint: "By https, for programs that go by HTTPS_PROXY, as most of Python’s do.",
  },
] as const;

/** Which of them it is, and the hosts as a form has them. */
export function egressOf({ egress = DEFAULT_EGRESS }: Configuration) {
  return typeof egress === "string"
    ? { choice: egress, hosts: "" }
    : { choice: "hosts", hosts: egress.join("\n") };
}

export function egressText({ egress = DEFAULT_EGRESS }: Configuration): string {
  if (typeof egress !== "string") return egress.join(", ");
  return EGRESSES.find(({ value }) => value === egress)?.label ?? "";
}
