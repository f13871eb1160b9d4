/** An icon beside a word. */
import { raw } from "hono/html";
import { useRequestContext } from "hono/jsx-renderer";
import type { Dashboard } from "../context.ts";
import type { IconName } from "./icons.ts";

/**
 * In the page itself: each mask of the stylesheet is a document of its own to Chromium, and those of the
 * navigation took a sixth of the processor's time until the first paint. It says nothing by itself.
 */
export function Icon({ name }: { name: IconName }) {
  const inside = useRequestContext<Dashboard>().var.assets.icons[name];
  if (inside === undefined) throw new Error(`The icon ${name} is not in the asset manifest`);
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      {raw(inside)}
    </svg>
  );
}
