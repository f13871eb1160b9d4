/** Icons beside words, and the bird. */
import { raw } from "hono/html";
import { useRequestContext } from "hono/jsx-renderer";
import type { Manifest } from "../../protocol/assets.ts";
import type { Dashboard } from "../context.ts";
import type { IconName } from "./icons.ts";

/**
 * In the page itself: each SVG that a stylesheet names is a document of its own to Chromium. Those of the
 * navigation took a sixth of the processor's time until the first paint, and the bird alone up to 20 ms. It
 * says nothing by itself.
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

export const Bird = ({ assets }: { assets: Manifest }) => (
  <svg class="bird" viewBox="0 0 32 32" aria-hidden="true">
    {raw(assets.bird)}
  </svg>
);
