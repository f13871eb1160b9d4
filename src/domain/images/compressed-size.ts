/** The bytes of an image as it is stored and pulled: those of its configuration and its layers. */
interface Sized {
  size: number;
}

export const compressedSize = ({ config, layers }: { config: Sized; layers: Sized[] }): number =>
  [config, ...layers].reduce((sum, { size }) => sum + size, 0);
