/** The network access of a version's containers, in words. */
import { DEFAULT_EGRESS } from "../../protocol/egress.ts";
import type { Configuration } from "../../protocol/model.ts";

export const EGRESS_CHOICES = [
  { value: "public", label: "Public internet", hint: "Private networks are always blocked." },
  { value: "none", label: "No network", hint: "Data leaves the container only as output." },
  {
    value: "hosts",
    label: "Selected hosts only",
    hint: "HTTPS only, for programs that honor HTTPS_PROXY, as most Python libraries do.",
  },
] as const;

/** The choice and the hosts as form values. */
export function egressOf({ egress = DEFAULT_EGRESS }: Configuration) {
  return typeof egress === "string"
    ? { choice: egress, hosts: "" }
    : { choice: "hosts", hosts: egress.join("\n") };
}

export const egressText = ({ egress = DEFAULT_EGRESS }: Configuration): string =>
  typeof egress === "string" ? labelOf(egress) : egress.join(", ");

/** Returns a short text, which names only the first of several hosts. */
export function shortEgressText({ egress = DEFAULT_EGRESS }: Configuration): string {
  if (typeof egress === "string") return labelOf(egress);
  const [first = "", ...others] = egress;
  return others.length === 0 ? `${first} only` : `${first} and ${others.length} more only`;
}

const labelOf = (choice: string): string =>
  EGRESS_CHOICES.find(({ value }) => value === choice)?.label ?? "";
