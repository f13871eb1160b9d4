/** One image of an account: what it is, what runs it, and what deleting it would do. */
import { byteText } from "../../lib/text.ts";
import type { AccountImage } from "../../services/registry/account-images.ts";
import { Form } from "../ui/layout.tsx";
import { Time } from "../ui/parts.tsx";

interface Props {
  image: AccountImage;
  /** The owner's. */
  username: string;
}

export function ImageItem({ image, username }: Props) {
  const { name, digest, isIndex, pushed_at, bytes, tags } = image;
  return (
    <li>
      <div class="image-names">
        <a href={`/models/${username}/${name}`}>{name}</a>
        {tags.items.map((tag) => (
          <span class="badge">{tag}</span>
        ))}
        {tags.more && <small>and more tags</small>}
        {tags.items.length === 0 && <small>no tag</small>}
      </div>
      <div class="image-digest">
        <code>{digest}</code>
        <button type="button" class="quiet" data-copy hidden>
          Copy<span class="visually-hidden"> digest</span>
        </button>
      </div>
      <small>
        {bytes === undefined ? "size unknown: too many parts" : byteText(bytes)}
        {isIndex && ", for several platforms"}
        {pushed_at !== undefined && (
          <>
            {" · pushed "}
            <Time at={pushed_at} />
          </>
        )}
        {" · "}
        <KeptBy image={image} username={username} />
      </small>
      <Removal image={image} username={username} />
    </li>
  );
}

/** Why it is there, or that it goes. */
function KeptBy({ image: { name, tags, versions, held_until }, username }: Props) {
  if (versions.items.length > 0) {
    return (
      <>
        run by {versions.items.length === 1 ? "version" : "versions"}{" "}
        {versions.items.map((number, n) => (
          <>
            {n > 0 && ", "}
            <a href={`/models/${username}/${name}/versions/${number}`}>{number}</a>
          </>
        ))}
        {versions.more && " and more"}
      </>
    );
  }
  if (held_until !== undefined) {
    return (
      <>
        kept until <Time at={held_until} /> for predictions of a deleted version
      </>
    );
  }
  return tags.items.length > 0
    ? "no version runs it"
    : "no version runs it: it is deleted within a week";
}

/** Open to read first: without client code nothing else asks. */
function Removal({ image, username }: Props) {
  const { name, digest, tags, versions, held_until } = image;
  const action = `/models/${username}/${name}/images/remove`;
  const isNeeded = versions.items.length > 0 || held_until !== undefined;
  if (isNeeded && tags.items.length === 0) return null;
  return (
    <details class="image-removal">
      <summary>
        Delete<span class="visually-hidden">{` ${name}, ${digest.slice(0, 15)}`}</span>
      </summary>
      {tags.items.length > 0 && (
        <>
          <p>
            A tag is a name for the image. Without it, nobody can pull the image by that name, nor
            make a version of it by that name.{" "}
            {isNeeded
              ? "Versions go on running: they name the digest."
              : "An image without any tag or version is deleted within a week."}
          </p>
          <div class="actions">
            {tags.items.map((tag) => (
              <Form action={action}>
                <input type="hidden" name="reference" value={tag} />
                <button type="submit" class="quiet">{`Remove tag ${tag}`}</button>
              </Form>
            ))}
          </div>
        </>
      )}
      {isNeeded ? (
        <p>
          {versions.items.length > 0 || held_until === undefined ? (
            "The image itself cannot be deleted while a version runs it. Delete the version first: four days later, when predictions do not need it any more, you can delete the image."
          ) : (
            <>
              The image itself can be deleted after <Time at={held_until} />: until then,
              predictions of a deleted version may need it.
            </>
          )}
        </p>
      ) : (
        <>
          <p>
            Deleting the image removes it with all its tags at once: nobody can pull it or make a
            version of it any more. Layers that no other image of yours has stop counting within a
            week. This cannot be undone, but you can push the image again.
          </p>
          <Form action={action}>
            <input type="hidden" name="reference" value={digest} />
            <button type="submit" class="danger">
              Delete image
            </button>
          </Form>
        </>
      )}
    </details>
  );
}
