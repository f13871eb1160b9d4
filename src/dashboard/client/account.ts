/** Profile: previews a picture before the upload, and rejects one that is too large. */

const MAX_BYTES = 1024 ** 2;

const input = document.querySelector<HTMLInputElement>("input[name=avatar]");
const portrait = document.querySelector<HTMLImageElement>("img[data-portrait]");

input?.addEventListener("change", () => {
  const [file] = input.files ?? [];
  const tooLarge = file !== undefined && file.size > MAX_BYTES;
  input.setCustomValidity(
    tooLarge ? "This picture is larger than 1 MB. Choose a smaller one." : "",
  );
  input.reportValidity();
  if (!file || !portrait || tooLarge) return;
  if (portrait.src.startsWith("blob:")) URL.revokeObjectURL(portrait.src);
  portrait.src = URL.createObjectURL(file);
  portrait.hidden = false;
});
