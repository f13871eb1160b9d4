/** A text that is an address: as run/linked.tsx has it. */
import type { Linked } from "../../prediction-view/output-kind.ts";
import { element } from "./element.ts";

export function linked(found: Linked): HTMLElement {
  switch (found.as) {
    case "image": {
      const image = element("img", "");
      image.src = found.address;
      image.alt = found.name;
      return element("figure", "out media", image);
    }
    case "audio":
    case "video": {
      const player = element(found.as, "");
      player.src = found.address;
      player.controls = true;
      player.preload = "metadata";
      player.ariaLabel = found.name;
      return element("figure", "out media", player);
    }
    case "file":
      return element("p", "out", linkTo(found.address, found.name));
    case "link": {
      const link = linkTo(found.address, found.text);
      link.rel = "noopener noreferrer nofollow";
      return element("p", "out", link);
    }
  }
}

function linkTo(address: string, content: string): HTMLAnchorElement {
  const link = element("a", "", content);
  link.href = address;
  return link;
}
