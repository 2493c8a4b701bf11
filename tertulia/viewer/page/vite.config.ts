import { defineConfig } from "vite";

// One script and one stylesheet under fixed names: the server sends them as they are, and an exported file has both
// inside (viewer/html_file.py).
export default defineConfig({
  base: "./",
  server: { proxy: { "/api": "http://127.0.0.1:8017" }, fs: { allow: ["../.."] } }, // styles lie in lab/pages
  build: {
    outDir: "../built",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 100_000,
    rollupOptions: {
      output: { entryFileNames: "viewer.js", assetFileNames: "viewer[extname]", codeSplitting: false },
    },
  },
});
