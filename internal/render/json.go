// json and jsonl.

package render

// beginJSON opens the document at the first sheet and the sheet's array.
func (w *Writer) beginJSON(again bool) {
	if again {
		return
	}
	if w.begun == 0 {
		w.openJSON()
	}
	w.buf = append(w.buf, ",\n"...)
	w.buf = appendJSONString(w.buf, w.sheet.Name)
	w.buf = append(w.buf, ":["...)
	w.rows = 0
}

func (w *Writer) openJSON() {
	w.buf = append(w.buf, `{"kind":`...)
	w.buf = appendJSONString(w.buf, w.meta.Kind)
	w.appendHead()
}

// appendHead appends the fields that every document has after its kind.
func (w *Writer) appendHead() {
	head := [...]Field{
		F("schema_version", Int(schemaVersion)),
		F("cluster_id", Text(w.meta.ClusterID)),
		F("generated_at", Time(w.meta.GeneratedAt)),
	}
	w.appendFields(head[:])
	w.appendFields(w.meta.Extra)
}

func (w *Writer) appendFields(fields []Field) {
	for i := range fields {
		w.buf = append(w.buf, ',')
		w.buf = appendField(w.buf, &fields[i])
	}
}

func (w *Writer) rowJSON(cells []Cell) {
	b := w.buf
	if w.rows > 0 {
		b = append(b, ',')
	}
	w.rows++
	b = append(b, "\n{"...)
	for i := range w.columns {
		c := &w.columns[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, c.prefix...)
		b = cells[c.cell].appendJSON(b)
	}
	w.buf = append(b, '}')
}

func (w *Writer) closeJSON(end End) {
	if w.begun == 0 {
		w.openJSON()
	}
	w.buf = append(w.buf, ",\n"...)
	incomplete := F("incomplete", Bool(end.Incomplete))
	w.buf = appendField(w.buf, &incomplete)
	w.appendFields(end.Fields)
	w.buf = append(w.buf, "}\n"...)
}

// beginJSONL puts the start of every line into the prefix of its first column.
func (w *Writer) beginJSONL() {
	for i := range w.columns {
		w.columns[i].prefix = "," + w.columns[i].prefix
	}
	if len(w.columns) > 0 {
		kind := w.sheet.Row
		if kind == "" {
			kind = w.sheet.Name
		}
		w.columns[0].prefix = `{"kind":` + string(appendJSONString(nil, kind)) + w.columns[0].prefix
	}
}

func (w *Writer) rowJSONL(cells []Cell) {
	b := w.buf
	for i := range w.columns {
		c := &w.columns[i]
		b = append(b, c.prefix...)
		b = cells[c.cell].appendJSON(b)
	}
	w.buf = append(b, "}\n"...)
}

func (w *Writer) closeJSONL(end End) {
	w.buf = append(w.buf, `{"kind":"end"`...)
	w.appendFields([]Field{F("incomplete", Bool(end.Incomplete)), F("document", String(w.meta.Kind))})
	w.appendHead()
	w.appendFields(end.Fields)
	w.buf = append(w.buf, "}\n"...)
}
