/** A text that is an address: the picture, sound or film there, or a link to it. */
import type { UrlKind } from "./output-kind.ts";

/** As client/parts/linked.ts makes it. */
export function UrlOutput({ output }: { output: UrlKind }) {
  switch (output.kind) {
    case "image":
      return (
        <figure class="output-item media">
          <img src={output.address} alt={output.name} loading="lazy" />
        </figure>
      );
    case "audio":
    case "video": {
      const Media = output.kind;
      return (
        <figure class="output-item media">
          <Media src={output.address} controls preload="metadata" aria-label={output.name} />
        </figure>
      );
    }
    case "file":
      return (
        <p class="output-item">
          <a href={output.address}>{output.name}</a>
        </p>
      );
    case "link":
      return (
        <p class="output-item">
          <a href={output.address} rel="noopener noreferrer nofollow">
            {output.text}
          </a>
        </p>
      );
  }
}
