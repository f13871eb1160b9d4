/** A URL as image, audio, video or link: the same markup as in prediction-view/url-output.tsx, but for pictures without an address. */
import type { UrlKind } from "../../prediction-view/output-kind.ts";
import { element } from "./element.ts";
import { zoomButton } from "./zoom.ts";

export function urlOutput(output: UrlKind): HTMLElement {
  switch (output.kind) {
    case "image": {
      const image = element("img", "");
      image.src = output.address;
      image.alt = output.name;
      const { address } = output;
      const opener = address.startsWith("data:") ? zoomButton(image) : linkTo(address, image);
      opener.dataset.zoom = "";
      return element("figure", "output-item media", opener, download(output));
    }
    case "audio":
    case "video": {
      const player = element(output.kind, "");
      player.src = output.address;
      player.controls = true;
      player.preload = "metadata";
      player.ariaLabel = output.name;
      return element("figure", "output-item media", player, download(output));
    }
    case "file":
      return element("p", "output-item", linkTo(output.address, output.name));
    case "link": {
      const link = linkTo(output.address, output.text);
      link.rel = "noopener noreferrer nofollow";
      return element("p", "output-item", link);
    }
  }
}

function download({ address, name }: Extract<UrlKind, { name: string }>): HTMLElement {
  const link = linkTo(address, "Download");
  link.download = name;
  return element("figcaption", "", link);
}

function linkTo(address: string, content: string | HTMLElement): HTMLAnchorElement {
  const link = element("a", "", content);
  link.href = address;
  return link;
}
