/** A text that is an address: the picture, sound or film there, or a link to it. */
import type { UrlKind } from "./output-kind.ts";

type Named = Extract<UrlKind, { name: string }>;

/** The markup is the same as in client/parts/url-output.ts. */
export function UrlOutput({ output }: { output: UrlKind }) {
  switch (output.kind) {
    case "image":
      return (
        <figure class="output-item media">
          <Picture output={output} />
          <Download output={output} />
        </figure>
      );
    case "audio":
    case "video": {
      const Media = output.kind;
      return (
        <figure class="output-item media">
          <Media src={output.address} controls preload="metadata" aria-label={output.name} />
          <Download output={output} />
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

/** A picture that links to itself in a new tab. Browsers open no data URL as a page. */
function Picture({ output: { address, name } }: { output: Named }) {
  const picture = <img src={address} alt={name} loading="lazy" />;
  return address.startsWith("data:") ? (
    picture
  ) : (
    <a href={address} target="_blank" rel="noopener">
      {picture}
    </a>
  );
}

const Download = ({ output: { address, name } }: { output: Named }) => (
  <figcaption>
    <a href={address} download={name}>
      Download
    </a>
  </figcaption>
);
