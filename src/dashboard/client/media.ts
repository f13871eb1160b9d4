/** The views of pictures and sounds in the playground. */
